import torch
for f in [lambda: (1, 2)[5], lambda: [1][3], lambda: {"a": 1}["b"], lambda: "abc"[9], lambda: (1,).append(2), lambda: "a" + 1, lambda: [1] + (2,), lambda: int("x"), lambda: float("1.5x"), lambda: 1 / 0, lambda: 5 % 0, lambda: None.x, lambda: len(5), lambda: sorted([1, "a"]), lambda: sum(["a"]), lambda: max([]), lambda: {}.popitem(), lambda: [].pop(), lambda: [1].remove(2), lambda: {[1]: 2}, lambda: "%d" % "a", lambda: "{}".format(), lambda: (1, 2) < (1, "a"), lambda: abs("x"), lambda: range(1, 2, 0), lambda: next(iter([])), lambda: undefined_name]:
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__ + ": " + str(e))
