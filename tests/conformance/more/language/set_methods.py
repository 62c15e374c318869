import torch
s = {1, 2, 3}
s.add(4); s.discard(9); s.discard(1); s.update([5], {6})
print(sorted(s), len(s), 2 in s, s.pop() in (2, 3, 4, 5, 6), len(s))
a = {1, 2, 3}; b = {2, 3, 4}
print(sorted(a.union(b)), sorted(a.intersection(b)), sorted(a.difference(b)), sorted(a.symmetric_difference(b)), a.issubset({1, 2, 3, 4}), a.issuperset({1}), a.isdisjoint({9}))
print(a | b == {1, 2, 3, 4}, a & b, a - b, a ^ b, a <= a, a < a, a == {3, 2, 1})
a |= {7}; a -= {1}; a &= {2, 7}; print(a)
a.remove(7); print(a, a.copy())
a.clear(); print(a, set("aa"), set([1, 1]), {x % 2 for x in range(5)})
try:
    a.remove(5)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    a.pop()
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    a[0]
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    a.add([1])
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    a.foo
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    {1} + {2}
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    {1} | [2]
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    {1} < [1]
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    {{1}}
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    set(1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    set([[1]])
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print({1, "a", None} == {None, "a", 1}, {True, 1, 1.0}, len({(1, 2), (1, 2)}))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print({torch.float32, torch.float32}, len({torch.ones(1), torch.ones(1)}))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
