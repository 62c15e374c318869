import torch
t = (1, 2, 3, 2)
print(t[0], t[-1], t[1:3], t.count(2), t.index(3), len(t), t + (4,), t * 2, 2 in t, t == (1, 2, 3, 2), t < (2,))
try:
    t[0] = 1
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    t.append(1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    t[9]
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    t.index(9)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    t + [1]
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    t + 1
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    del t[0]
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    t["a"]
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    t[1.0]
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    t()
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print((1), (1,), (), 1, tuple(), tuple([1]), tuple(range(3)), (1, (2, 3))[1][0])
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
a = 1, 2
print(a, type(a))
x, (y, *z) = 1, (2, 3, 4)
print(x, y, z)
for i, (a, b) in enumerate([(1, 2), (3, 4)]): print(i, a, b)
first, *_, last = range(5)
print(first, last, _)
(p, q), r = [1, 2], 3
print(p, q, r)
[u, v] = (4, 5)
print(u, v)
x = y = []
x.append(1)
print(y)
i = 0
i, arr = 1, [10, 20]
print(i, arr[i])
arr[0], arr[1] = arr[1], arr[0]
print(arr)
*h, = "ab"
print(h)
def g(): return 1, 2
m, n = g()
print(m, n, g())
