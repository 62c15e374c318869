import torch
import torch.nn as nn
import torch.nn.functional as F

x = torch.tensor(
    [[[[1.0, 3.0, 2.0, 0.0], [4.0, 4.0, -1.0, 5.0], [0.5, 0.5, 7.0, 7.0], [2.0, -3.0, 6.0, 1.0]]]], requires_grad=True
)

# who wins a window gets the gradient, the first of equals
y, where = F.max_pool2d(x, 2, return_indices=True)
print(y)
print(where)
y.sum().backward()
print(x.grad)

x.grad = None
F.max_pool2d(x, 3, stride=1, padding=1).sum().backward()
print(x.grad)

x.grad = None
out = F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False)
print(out)
out.backward(torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]))
print(x.grad)

for size in (1, 3, (2, 1), (None, 2)):
    made = nn.AdaptiveAvgPool2d(size)(x)
    print(size, made.shape, made.flatten()[:3], type(made.grad_fn).__name__)
for layer in (nn.MaxPool2d(3, 2, 1, ceil_mode=True), nn.AvgPool2d(2), nn.AdaptiveMaxPool2d(2), nn.LPPool2d(2, 2)):
    print(layer, layer(x).flatten().tolist())

s = torch.arange(10.0).reshape(1, 2, 5)
print(nn.MaxPool1d(2)(s), nn.AvgPool1d(2, stride=1)(s), F.adaptive_avg_pool1d(s, 2), sep="\n")

# second derivatives: through the same windows
z = torch.tensor([[1.0, 2.0, 0.5, -1.0]], dtype=torch.float64, requires_grad=True)
(g,) = torch.autograd.grad((F.max_pool1d(z, 2) ** 3).sum(), z, create_graph=True)
print(g)
g.sum().backward()
print(z.grad)

for call in (
    lambda: F.max_pool2d(x, 5),
    lambda: F.max_pool2d(x, 2, padding=2),
    lambda: F.max_pool2d(torch.zeros(4, 4), 2),
    lambda: F.avg_pool2d(x, 2, stride=0),
    lambda: nn.MaxPool2d(),
    lambda: F.max_pool1d(torch.zeros(1, 1, 4), 5),
    lambda: F.adaptive_avg_pool2d(torch.zeros(1, 1, 4, 4), (1, 2, 3)),
):
    try:
        call()
    except Exception as e:
        print(type(e).__name__, e)

# windows as columns, and bags of rows
image = torch.arange(9.0).reshape(1, 1, 3, 3).requires_grad_()
columns = F.unfold(image, 2)
print(columns, columns.grad_fn.name())
print(F.fold(columns, 3, 2))
columns.sum().backward()
print(image.grad)
torch.manual_seed(0)
bag = nn.EmbeddingBag(4, 2, mode="sum")
print(bag, bag.weight.shape)
rows = torch.tensor([0, 2, 2, 3])
total = bag(rows, torch.tensor([0, 3]))
print(torch.allclose(total[0], bag.weight[0] + 2 * bag.weight[2]), total.grad_fn.name())
total.sum().backward()
print(bag.weight.grad)
