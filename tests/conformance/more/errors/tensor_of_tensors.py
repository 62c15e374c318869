import torch
T = torch.tensor
print(T([T(1.), T(2.)]), T([T([1.]), T([2.])]), T([[1, 2], T([3, 4])]), T([[], [1]]))
for f in [lambda: T([T([1., 2.]), T([3., 4.])]), lambda: T([T([3, 4]), [1, 2]]), lambda: T([[1], T(2)]), lambda: T([[1, 2], [3]]), lambda: T([1, "a"]), lambda: T([None, 1]), lambda: T("abc"), lambda: T([1, [2]]), lambda: T({}), lambda: T(10 ** 30)]:
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__ + ": " + str(e))
