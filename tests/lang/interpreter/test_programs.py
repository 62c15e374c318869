"""Programs without tensors print what CPython prints."""

# ruff: noqa: E501 (programs are as they are)

import subprocess
import sys

import pytest

from tests.lang.running import output, without_addresses

PROGRAMS = {
    "arithmetic": """
print(1 + 2 * 3 - 4 / 2, 7 // 2, -7 // 2, 7 % 3, -7 % 3, 2 ** 10, 2 ** -1, -2 ** 2)
print(1_000 + 0x10 + 0b11 + 0o7, 1e3, .5, 5., 1e-7, 1e16, 123456789.123)
print(True + True, not 0, ~5, +3, 5 & 3, 5 | 3, 5 ^ 3, 1 << 4, 256 >> 2)
print(0.1 + 0.2, 1 / 3, 10 ** 20, 2 ** 100, -0.0, 1e308 * 10, float("nan"))
a = 10
a += 1; a -= 2; a *= 3; a //= 2; a **= 2; a %= 50; a <<= 2; a |= 1; a ^= 3; a &= 0xff; a >>= 1
print(a)
b = 7.0
b /= 2
b += 1
print(b)
""",
    "chains": """
def say(x):
    print("eval", x)
    return x
print(say(1) < say(2) < say(0) < say(9))
print(1 < 2 == 2 != 3 >= 3 in [3, 4] is not None)
print(1 - 2 - 3 + 4 - 5, 2 * 3 / 4 * 5 // 2, 2 ** 3 ** 2, (2 ** 3) ** 2)
print(say(0) or say("") or say("x"), say(1) and say([]) and say(2))
print(not [] , not [0], 5 if [] else 6)
""",
    "assignment": """
a = b = [1]
b.append(2)
print(a, b, a is b)
x, y = 1, 2
x, y = y, x
print(x, y)
(p, (q, *r)), s = (1, "abcd"), 5
print(p, q, r, s)
*head, last = range(4)
print(head, last)
first, *rest = {"k": 1, "l": 2}
print(first, rest)
[m, n] = "xy"
print(m, n)
d = {}
d["a"], d["b"] = 1, 2
print(d)
xs = [0] * 5
xs[1:3] = [7, 8, 9]
xs[::2] = "abc"
print(xs)
i = 0
i, xs[i] = 1, 99
print(i, xs)
x: int = 5
y: float
print(x)
def f():
    return 1,
print(f())
z = (k := 3) + k
print(z, k)
xs[-1] += 1
d["a"] += 10
print(xs, d)
l = m = [1]
l += [2]
print(m)
t = u = (1,)
t += (2,)
print(u, t)
""",
    "functions": """
def f(a, b=2, *args, c, d=4, **more):
    return a, b, args, c, d, more
print(f(1, c=3))
print(f(1, 2, 3, 4, c=5, d=6, e=7))
print(f(*[1, 2, 3], **{"c": 4, "z": 5}))
print(f(c=1, a=2))
def g(x, acc=[]):
    acc.append(x)
    return acc
print(g(1), g(2), g(3, []))
def early(n):
    for i in range(10):
        for j in range(10):
            if i * j == n:
                return i, j
    else:
        return "none"
print(early(6), early(97))
def nothing():
    pass
print(nothing())
def h(*, key=1): return key
print(h(), h(key=2))
print((lambda x, y=1, *z, **w: (x, y, z, w))(5, 6, 7, q=8))
def outer():
    x = 1
    def inner():
        nonlocal x
        x += 1
        def deepest():
            nonlocal x
            x *= 10
        deepest()
        return x
    return inner(), x
print(outer())
total = 0
def bump(k):
    global total
    total += k
for i in range(4): bump(i)
print(total)
fs = [lambda: i for i in range(3)]
print([fn() for fn in fs])
fs = [lambda i=i: i for i in range(3)]
print([fn() for fn in fs])
def make():
    for i in range(3):
        def f(): return i
    return f
print(make()())
def twice(fn):
    def wrapped(*a, **k):
        return fn(fn(*a, **k))
    return wrapped
def add(n):
    def deco(fn):
        return lambda *a: fn(*a) + n
    return deco
@twice
@add(10)
def inc(x): return x + 1
print(inc(0), inc.__name__, f.__name__, (lambda: 0).__name__)
def fact(n): return 1 if n <= 1 else n * fact(n - 1)
print(fact(20))
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
print(even(40))
def swap(a, b):
    a, b = b, a
    return a, b
print(swap(1, 2))
def cond(flag):
    if flag: v = 1
    return v
print(cond(True))
def params(x):
    x = x + 1
    del x
    x = 5
    return x
print(params(1))
def kw(**k): return sorted(k.items())
print(kw(b=1, a=2))
def shadow(list): return list[0]
print(shadow([3]))
def p(a, /, b): return a - b
print(p(5, b=2))
def rec(n):
    if n:
        def me(): return n
        return [me] + rec(n - 1)
    return []
print([m() for m in rec(3)])
""",
    "loops": """
for i in range(3):
    for j in range(3):
        if j == 1: continue
        if i == 2: break
        print(i, j)
    else:
        print("no break", i)
n = 5
while n:
    n -= 1
    if n == 2: continue
    print(n, end=" ")
else:
    print("done")
while True:
    break
else:
    print("never")
for i in range(10, 0, -3): print(i, end=",")
print()
for a, (b, c) in [(1, (2, 3)), (4, (5, 6))]: print(a, b, c)
for k, v in {"a": 1, "b": 2}.items(): print(k, v)
for ch in "hey": print(ch, end="|")
print()
d = {}
for d["x"] in range(3): pass
print(d)
xs = [1, 2, 3]
for x in xs:
    if x < 3: xs.append(x + 10)
print(xs)
for i in []: pass
else: print("else of empty")
print(i)
for i in range(2):
    try:
        continue
    finally:
        print("finally", i)
def f():
    for i in range(3):
        try:
            return i
        finally:
            print("leaving")
print(f())
def g():
    while True:
        try:
            1 / 0
        except ZeroDivisionError:
            break
        finally:
            print("fin")
    return "out"
print(g())
if 0: print(1)
elif "": print(2)
elif []: print(3)
else: print(4)
""",
    "comprehensions": """
print([x * y for x in range(3) for y in range(x) if x + y > 1])
print({x % 3 for x in range(10)}, {x: x ** 2 for x in range(4)}, {k: v for v, k in enumerate("abc")})
print([[j for j in range(i)] for i in range(3)])
x = "outer"
print([x for x in range(3)], x)
g = (i * i for i in range(4))
print(next(g), list(g), list(g))
print(sum(i for i in range(5)), max((len(w), w) for w in ["a", "bbb", "cc"]))
def f(n):
    k = 10
    return [i + k + n for i in range(3)]
print(f(100))
print([y := 1, y ** 2], y)
total = 0
print([total := total + v for v in range(5)], total)
def h():
    out = [last := i for i in range(3)]
    return last
print(h())
print([(lambda: i)() for i in range(3)], [fn() for fn in [lambda: i for i in range(3)]])
print([a + b for a, b in zip("ab", "cd")], [c for row in [[1, 2], [3]] for c in row])
lazy = (print("made", i) or i for i in range(2))
print("before")
print(list(lazy))
it = iter([1, 2, 3])
print([a for a in it if a > 1], list(it))
print(any(x > 2 for x in [1, 3]), all([]), any([]))
def gen_sum(xs): return sum(x * w for x in xs for w in (1, 10))
print(gen_sum([1, 2]))
n = 3
print([n for n in range(n)], n)
print([[i * j for j in range(3)] for i in range(3)])
""",
    "errors": """
def attempt(f):
    try:
        print("ok", f())
    except Exception as e:
        print(type(e).__name__, "|", e, "|", repr(e), e.args)
d = {"a": 1}
xs = [1, 2]
attempt(lambda: 1 / 0)
attempt(lambda: 1 // 0)
attempt(lambda: 1 % 0)
attempt(lambda: 1.0 / 0)
attempt(lambda: xs[5])
attempt(lambda: xs["a"])
attempt(lambda: "abc"[9])
attempt(lambda: (1,)[3])
attempt(lambda: d["zz"])
attempt(lambda: d[[1]])
attempt(lambda: {[1]: 2})
attempt(lambda: {(1, [2])})
attempt(lambda: undefined_thing)
attempt(lambda: xs.nope)
attempt(lambda: (5).nope)
attempt(lambda: "x".nope)
attempt(lambda: None.nope)
attempt(lambda: 5 + "a")
attempt(lambda: "a" + 5)
attempt(lambda: [1] + (2,))
attempt(lambda: "a" * "b")
attempt(lambda: None + 1)
attempt(lambda: -"a")
attempt(lambda: ~1.5)
attempt(lambda: 1 < "a")
attempt(lambda: [1] < [None])
attempt(lambda: 1 in 5)
attempt(lambda: 1 in "abc")
attempt(lambda: len(5))
attempt(lambda: len())
attempt(lambda: int("x"))
attempt(lambda: float("x"))
attempt(lambda: int([]))
attempt(lambda: float(None))
attempt(lambda: 5())
attempt(lambda: "a"())
attempt(lambda: None())
attempt(lambda: [0][0]())
attempt(lambda: 5[0])
attempt(lambda: max([]))
attempt(lambda: max(5))
attempt(lambda: sum(["a"]))
attempt(lambda: list(5))
attempt(lambda: [*5])
attempt(lambda: next(iter([])))
attempt(lambda: next([1]))
attempt(lambda: range(1.5))
attempt(lambda: range(0, 1, 0))
attempt(lambda: xs[1.0])
attempt(lambda: xs.index(9))
attempt(lambda: xs.remove(9))
attempt(lambda: [].pop())
attempt(lambda: chr(-1))
attempt(lambda: ord("ab"))
attempt(lambda: "{}".format())
attempt(lambda: "%d" % "a")
attempt(lambda: f"{1:zz}")
attempt(lambda: (lambda x: x)())
attempt(lambda: (lambda x: x)(1, 2))
attempt(lambda: (lambda: 0)(y=1))
attempt(lambda: (lambda *, k: k)())
attempt(lambda: (lambda a, b, c: 0)())
attempt(lambda: print(1, foo=2))
attempt(lambda: isinstance(1, 5))
attempt(lambda: round("a"))
attempt(lambda: abs("a"))
attempt(lambda: getattr(5, "zz"))
attempt(lambda: getattr(5, 3))
attempt(lambda: zip(5))
attempt(lambda: dict([1]))
attempt(lambda: {}.pop("k"))
attempt(lambda: set().pop())
attempt(lambda: "a".join([1]))
attempt(lambda: (1, 2) + [3])
attempt(lambda: slice(1)(2))
attempt(lambda: [1, 2].sort(key=5))
attempt(lambda: sorted([1, "a"]))
attempt(lambda: min(1, "a"))
attempt(lambda: pow("a", 2))
attempt(lambda: divmod(1, 0))
attempt(lambda: {**[1]})
def assign(code):
    try:
        code()
    except Exception as e:
        print(type(e).__name__, "|", e)
def a1():
    a, b = [1, 2, 3]
def a2():
    a, b = [1]
def a3():
    a, b = 5
def a4():
    a, *b, c = [1]
def a5():
    xs[9] = 1
def a6():
    (1, 2)[0] = 1
def a7():
    "abc"[0] = "x"
def a8():
    print(later)
    later = 1
def a9():
    del d["nope"]
def a10():
    for x in 5: pass
def a11():
    xs[0:1] = 5
def a12():
    raise ValueError
def a13():
    raise ValueError("a", 2)
def a14():
    raise 5
def a15():
    assert 1 == 2, "unequal"
def a16():
    assert False
def a17():
    raise KeyError("k")
def a18():
    x = 5
    x.y = 1
def a19():
    x = 1
    del x
    print(x)
def a20():
    none = None
    none[0] = 1
def a21():
    with 5: pass
def a22():
    raise
def a23():
    n = 1
    n += "a"
def a24():
    n = [1]
    n += 5
for f in [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24]:
    assign(f)
""",
    "try": """
def f(n):
    try:
        if n == 0: raise ValueError("zero")
        if n == 1: return "returned"
        if n == 2: [][1]
        if n == 3: {}["k"]
    except (IndexError, KeyError) as e:
        print("lookup", type(e).__name__, e)
        return "handled"
    except ValueError as err:
        print("value", err)
    else:
        print("else")
        return "from else"
    finally:
        print("finally")
    return "end"
for n in range(5): print(f(n))
def nested():
    try:
        try:
            1 / 0
        except TypeError:
            print("no")
        finally:
            print("inner finally")
    except ArithmeticError as e:
        print("outer", e)
nested()
try:
    try:
        raise ValueError("first")
    except ValueError as e:
        raise RuntimeError("second") from e
except RuntimeError as e:
    print(e)
try:
    try:
        raise ValueError("again")
    except ValueError:
        raise
except Exception as e:
    print("re", e)
e = "kept"
try:
    raise TypeError("x")
except TypeError as e:
    pass
try:
    print(e)
except NameError as err:
    print(err)
def swallow():
    try:
        1 / 0
    finally:
        return "swallowed"
print(swallow())
err = ValueError("made", 1)
try:
    raise err
except ValueError as caught:
    print(caught is err, caught.args, str(caught))
print(isinstance(err, Exception), isinstance(err, (KeyError, ValueError)), isinstance(err, TypeError), type(err) is ValueError)
print(ValueError("x"), repr(KeyError("k")), str(KeyError("k")), str(ValueError()), repr(ValueError()))
try:
    raise StopIteration
except StopIteration as s:
    print("stop", repr(s))
try:
    assert 0, [1, 2]
except AssertionError as a:
    print(a, a.args)
try:
    pass
except NoSuchError:
    pass
print(ValueError.__name__, ValueError)
try:
    raise NotImplementedError("later")
except RuntimeError as e:
    print(type(e).__name__)
""",
    "builtins": """
print(len("abc"), len({1: 2}), len((1,)), len(range(5)), len(set()))
print(list(range(2, 10, 3)), list(enumerate("ab", 1)), list(zip([1, 2], "ab")), list(zip()), list(map(str, [1, 2])))
print(sum([1, 2.5]), sum([[1], [2]], []), min(3, 1), max("b", "a"), max([1, 3, 2], key=lambda v: -v), min([], default=0))
print(abs(-3), abs(-2.5), round(2.5), round(3.5), round(2.567, 2), round(1234, -2), pow(2, 5), pow(2, 5, 7), divmod(7, 2), divmod(-7.5, 2))
print(sorted("hello"), sorted([3, 1], reverse=True), list(reversed([1, 2])), list(reversed("ab")), list(reversed(range(3))))
print(any([0, 1]), all([1, 0]), bool([]), bool("a"), int("12"), int(3.9), int(-3.9), int("ff", 16), float("1e3"), str(5), str([1, "a"]))
print(isinstance(1, int), isinstance(True, int), isinstance(1.0, (int, float)), isinstance("a", str), isinstance([], list), isinstance(None, int))
print(repr("it's"), repr('a"b'), repr("a\\n\\t\\\\"), ascii("é"), format(3.14159, ".2f"), format(255, "x"), format("a", ">5"))
print(chr(97), ord("a"), bin(5), hex(255), oct(8), bin(-5), tuple("ab"), set([1, 1]), dict(a=1), dict([("x", 1)]), list({"a": 1}))
print(list(filter(None, [0, 1, 2])), list(filter(lambda x: x > 1, [1, 2, 3])), list(map(lambda a, b: a * b, [1, 2], [3, 4])))
print(callable(len), callable(5), callable(lambda: 0), hasattr([], "append"), hasattr(5, "foo"), getattr("ab", "upper")(), getattr(5, "zz", "dflt"))
it = iter([1, 2])
print(next(it), next(it), next(it, "end"))
print(type(1), type(1.0), type("a"), type([]), type({}), type(()), type(None), type(len), type(lambda: 0), type(int), type(True), type(range(1)), type({1}), type(...))
print(type(1).__name__, type([]) is list, type(1) == int, int, str, type(ValueError("x")).__name__, type(slice(1)))
print(range(5), range(1, 5), range(0, 5, 2), slice(1, 2), slice(None, 3, 1), ..., None, print)
print(range(5)[1:3], range(10)[-1], 3 in range(5), 2.0 in range(5), range(3) == range(3), list(range(5, 0, -2)))
r = range(3, 9, 2)
print(r.start, r.stop, r.step, r.index(5), r.count(7))
print(int(), float(), str(), list(), dict(), tuple(), set(), bool())
print("a", "b", sep="-", end="!\\n")
print(*[1, 2, 3], sep="")
print()
print(float("inf"), float("-inf"), float("nan"), int("  7 "), float(" 1.5 "))
print(sorted([("b", 1), ("a", 2)]), sorted({"x": 1, "a": 2}), sorted([[2], [1, 5]]), sorted([1.5, 1, True]))
print(zip, enumerate) if False else print("skip")
print(max([1, 2], [1, 3]), min((2, "a"), (1, "b")), max("ab", key=ord), sum(range(101)), sum({1: 2, 3: 4}))
print(str.upper("a"), list(map(str.strip, [" a ", "b "])), sorted(["b", "A"], key=str.lower), list.count([1, 1], 1))
print(hash(5) == hash(5.0), id(5) == id(5), round(0.5), round(1.5), round(-2.5), round(2.675, 2))
print((5).bit_length(), (2.0).is_integer(), (5).real, (2.5).real)
print(list(iter("ab")), [*range(3), *"ab"], {**{"a": 1}, "b": 2}, (*[1], 2), {*[1], 2})
""",
    "containers": """
xs = [3, 1, 2]
xs.append(4); xs.extend([5]); xs.insert(0, 9); print(xs, xs.pop(), xs.pop(0), xs)
xs.sort(); print(xs, xs.index(2), xs.count(1)); xs.reverse(); print(xs, xs.copy() == xs); xs.clear(); print(xs)
xs = list(range(10)); print(xs[2:5], xs[::-1], xs[-3:], xs[:-7:-2], xs[20:], xs[5:2])
del xs[0], xs[-1]; del xs[1:3]; print(xs)
xs[1:2] = []; print(xs)
d = {"b": 1, "a": 2}
print(d.get("x"), d.get("x", 0), d.pop("b"), d.setdefault("c", 5), d.keys(), d.values(), d.items(), list(d), len(d))
d.update({"z": 1}, y=2); print(d, "z" in d, "q" not in d, d == {"a": 2, "c": 5, "z": 1, "y": 2})
for k in list(d): del d[k]
print(d, bool(d))
print({1: "a", 1.0: "b", True: "c"}, {**{}}, {"a": {"b": [1, {"c": (1,)}]}})
s = {1, 2}; s.add(3); s.discard(9); print(s | {4}, s & {1, 9}, s - {1}, s ^ {1, 7}, s <= {1, 2, 3}, {1} < s, s == {3, 2, 1}, 2 in s)
s |= {10}; print(s, len(s), s.issubset({1, 2, 3, 10}), set() == set())
t = (1, 2, (3, 4)); print(t[0], t[-1][0], t + (5,), t * 2, t.index(2), t.count(9), (1,) < (1, 2), (), (1,))
print([1, 2] == [1, 2.0], (1, 2) == [1, 2], [1] < [2], [1, 2] > [1], "a" < "b", [[]] * 2)
a = []; a.append(a); print(a)
print([1, [2, [3]]] == [1, [2, [3]]], {"a": [1]} == {"a": [1]}, {1: 2} != {1: 3})
print("abc"[1], "abc"[::-1], "a" in "abc", "abc" * 2, "x".join(["a", "b"]), "a,b".split(","), " a ".strip(), "Ab".lower(), "ab".upper())
print("hello".replace("l", "L"), "hello".find("l"), "hello".count("l"), "a-b".partition("-"), "abc".startswith("ab"), "x".zfill(3), "a".center(5, "*"))
print("hi %s %d %.2f %5d|%-5s|%05d %x %%" % ("a", 3, 1.5, 42, "ab", 42, 255), "%s" % [1], "%r" % "q", "%(k)s" % {"k": 1})
print("{0} {1} {0} {name} {2[0]} {3[k]}".format(1, 2, [3], {"k": 4}, name="n"), "{:>6.2f}|{:<5}|{:^7}|{:+d}|{:,}|{:e}|{:%}".format(1.5, "a", "b", 3, 12345, 1234.5, 0.5))
v = 3.14159; w = 8
print(f"{v:.2f} {v:{w}.3f} {'a' + 'b'} {v!r} {w=} {{}} {[x for x in range(2)]} {w:>{w}} {'nested ' + f'{w}'}")
print(f"{1 if w else 2} {(lambda q: q)(3)} {w:b} {w:#x} {1000000:,} {0.25:.0%} {True} {None}")
print("a" "b" 'c', r"a\\n", "tab\\tx", '''multi
line''')
m = [[0] * 3 for _ in range(2)]; m[0][1] = 5; print(m, m[0][1:], [row[1] for row in m])
print(list(zip(*[[1, 2], [3, 4]])), dict(zip("ab", [1, 2])), list(map(list, zip([1], [2]))))
""",
    "scopes": """
x = 1
def f():
    print(x)
f()
def g():
    x = 2
    def h():
        return x
    x = 3
    return h()
print(g(), x)
def k():
    global newname
    newname = 5
k()
print(newname)
def outer():
    def a(): return b()
    def b(): return c
    c = 7
    return a()
print(outer())
def counter():
    n = 0
    def step(by=1):
        nonlocal n
        n += by
        return n
    return step
c1, c2 = counter(), counter()
print(c1(), c1(5), c2())
def late():
    return undefined_yet
undefined_yet = "now"
print(late())
def loop():
    for i in range(3): pass
    return i
print(loop())
def comp():
    i = 10
    ys = [i for i in range(3)]
    return i, ys
print(comp())
def catches():
    try:
        1 / 0
    except ZeroDivisionError as e:
        g = lambda: str(e)
        print(g())
    try:
        g()
    except NameError as n:
        print(n)
catches()
def dele():
    a = 1
    def r(): return a
    print(r())
    del a
    try:
        r()
    except NameError as n:
        print(n)
dele()
sum = lambda a: "mine"
print(sum([1]))
del sum
print(sum([1]))
def arg(n, f=lambda n: n * 2): return f(n)
print(arg(4))
if True:
    inside = 1
print(inside)
def g2():
    y = [1]
    def inner():
        y.append(2)
        return y
    return inner()
print(g2())
a = 5
def uses(): return [a * i for i in range(2)] + [(lambda: a + i)() for i in range(2)]
print(uses())
class_like = {"f": lambda self: self["v"], "v": 9}
print(class_like["f"](class_like))
import math
from math import sqrt, pi as PI
import math as m
print(math.floor(2.5), sqrt(16), round(PI, 4), m is math, math.factorial(5), math.gcd(12, 18), math.inf, math.isnan(math.nan))
print(__name__)
""",
    "iterators": """
e = enumerate("ab")
print(next(e), list(e))
z = zip([1, 2, 3], iter([4, 5]))
print(list(z), list(z))
m = map(lambda x: x * 2, [1, 2])
print(next(m), 4 in m)
f = filter(lambda x: x % 2, range(6))
for i in f:
    if i == 3: break
print(list(f))
r = reversed([1, 2, 3])
print(next(r), list(r))
it = iter(range(3))
for i in it:
    for j in it:
        print(i, j)
print(list(zip(it, [1])))
g = (x for x in [1, 2, 3])
print(2 in g, list(g))
a, b = (i for i in range(2))
print(a, b, *(i for i in "xy"))
print(dict((k, v) for k, v in [("a", 1)]), tuple(i for i in range(2)), set(i for i in "aa"), ",".join(str(i) for i in range(3)))
d = {"a": 1}
try:
    for k in d: d[k + "x"] = 1
except RuntimeError as err:
    print(err)
print(iter(it) is it, [list(p) for p in zip([1, 2], [3, 4])])
print(list(zip([1], [2, 3], strict=False)))
try:
    list(zip([1], [2, 3], strict=True))
except ValueError as err:
    print(err)
it = iter([1, 2, 3, 4, 5, 6])
print(list(zip(it, it)))
for i, (a, b) in enumerate(zip("ab", "cd")): print(i, a, b)
print(sum(map(len, ["a", "bb"])), max(map(abs, [-3, 2])), sorted(map(str, [2, 1])))
print(list(map(int, "123")), list(map(max, [1, 5], [3, 2])))
""",
}


def expected(program: str) -> str:
    """What CPython prints when it runs `program`."""
    run = subprocess.run([sys.executable, "-"], input=program, capture_output=True, text=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_what_cpython_prints(name: str) -> None:
    if name == "errors" and sys.version_info[:2] != (3, 11):
        pytest.skip("the messages are those of Python 3.11")
    program = PROGRAMS[name]
    assert without_addresses(output(program)) == without_addresses(expected(program))
