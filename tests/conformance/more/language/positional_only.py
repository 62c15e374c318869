def f(a, b=2, /, c=3, *, d=4): return (a, b, c, d)
print(f(1), f(1, 5, c=6, d=7), f(1, 2, 3))
for t in (lambda: f(a=1), lambda: f(1, b=3), lambda: f(a=1, b=2), lambda: f(), lambda: f(1, x=3)):
    try: print(t())
    except TypeError as e: print(e)
def g(a, /, **kw): return a, kw
print(g(1, a=5))
h = lambda x, /: x + 1
print(h(2))
