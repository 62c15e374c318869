import torch
x = torch.tensor([1., 2.], requires_grad=True)
w = torch.tensor([3., 4.], requires_grad=True)
y = (x * w).sum()
y.backward(inputs=[x], retain_graph=True)
print(x.grad, w.grad)
y.backward(inputs=w, retain_graph=True)
print(w.grad)
m = x * w
n = m.sum()
n.backward(inputs=[m, x])
print(m.grad, x.grad)
try:
    y.backward(inputs=[])
except Exception as e:
    print(type(e).__name__, e)
try:
    y.backward(inputs=())
except Exception as e:
    print(type(e).__name__, e)
try:
    y.backward(inputs=[torch.ones(2)])
except Exception as e:
    print(type(e).__name__, e)
try:
    y.backward(inputs=[1])
except Exception as e:
    print(type(e).__name__, e)
try:
    y.backward(torch.ones(2))
except Exception as e:
    print(type(e).__name__, e)
try:
    y.backward(1.0)
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.autograd.backward([y, y], [torch.tensor(1.)])
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.autograd.backward([y], [torch.tensor(1.)], grad_variables=[torch.tensor(1.)])
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.autograd.backward([])
except Exception as e:
    print(type(e).__name__, e)
torch.autograd.backward([y, y], grad_variables=[torch.tensor(1.), torch.tensor(2.)], retain_graph=True)
print(x.grad)
torch.autograd.backward((y, x), (None, torch.ones(2)))
print(x.grad)
try:
    torch.autograd.backward(x * 2)
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.ones(2).backward()
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.ones(1).backward()
except Exception as e:
    print(type(e).__name__, e)
try:
    with torch.inference_mode():
        y.backward()
except Exception as e:
    print(type(e).__name__, e)
