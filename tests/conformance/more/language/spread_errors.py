import torch
def f(a, b=1, *args, c=2, **kw): return a, b, args, c, kw
print(f(1), f(1, 2, 3, c=4, d=5), f(*[1, 2], **{"c": 3}), f(*"ab"), dict.fromkeys("ab", 0))
for g in [lambda: f(), lambda: f(1, a=2), lambda: f(**{1: 2}), lambda: [*5]]:
    try:
        g()
    except TypeError as e:
        print(e)
