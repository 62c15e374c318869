import torch
for i in range(3):
    for j in range(3):
        if j == i: break
        print(i, j)
d = {}
for d["k"] in [1, 2, 3]: pass
print(d)
xs = [1, 2, 3]
for xs[0] in [9]: pass
print(xs)
for k in (1, 2, 3)[::-1]: print(k, end="")
print()
for ch in "ab": print(ch)
for t in torch.arange(3): print(t, t.item())
for row in torch.eye(2): print(row)
for v in reversed(range(3)): print(v, end=" ")
print(i, j, ch)
for i in range(10, 0, -3): print(i, end=" ")
print()
try:
    for i in 5: pass
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    for i in None: pass
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    for i in torch.tensor(1): pass
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    for a, b in [1]: pass
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    for a, b in ["abc"]: pass
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    for a, b in torch.ones(2, 3): pass
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
for a, b in torch.ones(2, 2): print(a, b)
lst = [1, 2, 3]
for v in lst:
    if v < 3: lst.append(v + 10)
    if len(lst) > 6: break
print(lst)
i = 0
while i < 3: i += 1
print(i)
print([x for x in range(3)], i)
a = b = 0
while (a := a + 1) < 5: b += a
print(a, b)
if (n := len("abc")) > 2: print(n)
print([y := 5, y ** 2], y)
print([last := v for v in range(3)], last)
