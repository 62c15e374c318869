import torch
# matching a common StackOverflow question: in-place on a leaf
w = torch.ones(3, requires_grad=True)
try:
    w[0] = 0
except RuntimeError as e:
    print(1, e)
try:
    w *= 2
except RuntimeError as e:
    print(2, e)
try:
    w.data[0] = 7
    print(3, w)
except RuntimeError as e:
    print(3, e)
with torch.no_grad():
    w[1] = 9
print(4, w)
v = w.clone()
v[2] = 100
v.sum().backward()
print(5, w.grad)
y = w * w
y[0] = 0
try:
    y.sum().backward()
    print(6, w.grad)
except RuntimeError as e:
    print(6, e)
z = w.exp()
z *= 2
try:
    z.sum().backward()
except RuntimeError as e:
    print(7, e)
z = w.exp()
z = z * 2
z.sum().backward()
print(8, w.grad)
h = torch.zeros(2, 2)
h[0] = w[:2]
h[1, 1] = w[2]
print(h, h.requires_grad)
h.pow(2).sum().backward()
print(9, w.grad)
