import torch
x = torch.tensor(3.0)
x.requires_grad_(True)
y = x ** 2
print('x:', x, 'y:', y, sep='\n')
print(f'{y.grad_fn=}')
y.backward()
print('dy/dx at x=3 is', x.grad)
print("x.grad.item() ->", x.grad.item(), end=' <-\n')
print("{0:.2f} | {1!r} | {0}".format(x.item(), x.grad))
print('%s %5.2f %-8s|' % ('loss', y.item(), 'end'))
print("Epoch [{}/{}], Loss: {:.4f}".format(1, 10, y))
print(f"Loss: {y:.4f} {y:>10.3f} {x:6.2f}")
