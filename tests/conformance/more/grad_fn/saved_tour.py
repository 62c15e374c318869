import torch
x = torch.tensor([1., 2.], requires_grad=True)
y = x ** 3
f = y.grad_fn
print(f._saved_self, f._saved_exponent, f._saved_self is x)
m = x * y
print(m.grad_fn._saved_self, m.grad_fn._saved_other)
e = x.exp()
print(e.grad_fn._saved_result, e.grad_fn._saved_result is e)
s = x.sum()
print(s.grad_fn._saved_self_sym_sizes)
e.sum().backward()
try:
    e.grad_fn._saved_result
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    e.grad_fn._saved_foo
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    e.sum().backward()
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
d = x / y.detach()
print(d.grad_fn._saved_self, d.grad_fn._saved_other)
print(x.sigmoid().grad_fn._saved_result, x.relu().grad_fn._saved_result, x.log().grad_fn._saved_self)
sm = x.softmax(0)
print(sm.grad_fn._saved_dim, sm.grad_fn._saved_result, sm.grad_fn._saved_self_scalar_type)
w = torch.where(x > 1, x, x * 2)
print(w.grad_fn._saved_condition)
mm = x @ x
print(mm.grad_fn._saved_self, mm.grad_fn._saved_tensor)
mx = x.max()
print(mx.grad_fn._saved_self, mx.grad_fn._saved_result)
c = x.clamp(0, 1.5)
print(c.grad_fn._saved_min, c.grad_fn._saved_max)
i = x[0]
print(i.grad_fn._saved_dim, i.grad_fn._saved_index, i.grad_fn._saved_self_sym_sizes)
print((x * 2).grad_fn._saved_other, (2 * x).grad_fn._saved_self, (x + 1).grad_fn)
try:
    print((x + 1).grad_fn._saved_self)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print((x + 1).grad_fn._saved_alpha)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
print(sorted(n for n in ["_saved_self", "_saved_other"] if hasattr(m.grad_fn, n)))
print(m.grad_fn._raw_saved_self)
