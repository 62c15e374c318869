import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

# a layer, its parameters and its graph
conv = nn.Conv2d(3, 4, kernel_size=3, stride=2, padding=1)
print(conv)
print(conv.weight.shape, conv.bias)
x = torch.randn(2, 3, 5, 5, requires_grad=True)
y = conv(x)
print(y.shape, y.grad_fn)
print(y[0, 0])
print([None if f is None else f.name() for f, _ in y.grad_fn.next_functions])
y.pow(2).mean().backward()
print(conv.bias.grad)
print(conv.weight.grad[0, 0])
print(x.grad[0, 0, 1:3, 1:3])

# groups, dilation, padding by name, unbatched input
depthwise = nn.Conv1d(4, 8, 3, padding="same", dilation=2, groups=4, bias=False)
print(depthwise)
print(depthwise(torch.ones(4, 5).tril()))
print(list(depthwise.state_dict()))

# an edge filter by hand, and what it does to an image with a step
image = torch.zeros(1, 1, 5, 6)
image[..., 3:] = 1.0
sobel = torch.tensor([[[[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]]]])
print(F.conv2d(image, sobel, padding=1))

# the transpose brings the size back
up = nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1)
print(up, up(y).shape, up(y, output_size=(6, 6)).shape)
z = F.conv_transpose1d(torch.tensor([[[1.0, 2.0, 3.0]]]), torch.tensor([[[1.0, 10.0]]]), stride=2)
print(z)

# second derivatives: a penalty on the gradient
w = torch.tensor([[[0.5, -1.0, 0.25]]], dtype=torch.float64, requires_grad=True)
s = torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(1, 1, 6).requires_grad_()
(g,) = torch.autograd.grad(F.conv1d(s, w).tanh().sum(), s, create_graph=True)
print(g, g.grad_fn)
(g**2).sum().backward()
print(w.grad)
print(s.grad)

for call in (
    lambda: conv(torch.zeros(1, 2, 5, 5)),
    lambda: conv(torch.zeros(5, 5)),
    lambda: nn.Conv2d(3, 4, 3)(torch.zeros(1, 3, 2, 2)),
    lambda: nn.Conv2d(3, 4, 3, groups=2),
    lambda: F.conv2d(torch.zeros(1, 1, 3, 3), torch.zeros(1, 1, 2, 2), stride=0),
    lambda: F.conv2d(torch.zeros(1, 1, 3, 3), torch.zeros(1, 1, 2, 2), stride=2, padding="same"),
):
    try:
        call()
    except Exception as e:
        print(type(e).__name__, e)
