import torch
x = torch.tensor([1., 2.], requires_grad=True)
a = x * 1
print(a._version)
a.add_(1); print(a._version)
a[0] = 3; print(a._version)
b = a.view(2, 1); b.mul_(2); print(a._version, b._version)
a.data.add_(1); print(a._version)
a.detach().add_(1); print(a._version)
with torch.no_grad(): a.zero_()
print(a._version)
a += 1; print(a._version)
a = a + 1; print(a._version)
x.data = torch.zeros(2); print(x, x._version)
try:
    x._version = 5
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
t = torch.zeros(2); t.copy_(torch.ones(2)); t.fill_(2); t.requires_grad_(); print(t._version)
s = torch.zeros(3); u = s[1:]; u += 1; print(s._version, u._version, s)
p, q = s.split([1, 2]); 
try:
    p.add_(1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
print(s._version, p._version)
v = s.unbind()
try:
    v[0].add_(1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
m = torch.zeros(2, 2); m[0, 0] += 1; print(m._version)
m[0][0] = 5; print(m._version)
m.t()[0] = 1; print(m._version)
n = m.numpy(); 
print(torch.zeros(1).add_(1).sub_(1)._version)
