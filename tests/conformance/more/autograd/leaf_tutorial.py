import torch
torch.manual_seed(42)
x = torch.rand(1, 3)
y_true = torch.tensor([[1.0]])
W = torch.rand(3, 1, requires_grad=True)
b = torch.rand(1, 1, requires_grad=True)
z = torch.matmul(x, W) + b
y_pred = torch.relu(z)
loss = torch.nn.functional.mse_loss(y_pred, y_true)
print(f"{x.is_leaf=}")
print(f"{z.is_leaf=}, {y_pred.is_leaf=}, {loss.is_leaf=}")
print(f"{W.is_leaf=}, {b.is_leaf=}")
print(f"{W.grad=}")
loss.backward()
print(f"{W.grad=}")
print(f"{b.grad=}")
print(f"{z.grad=}")
z.retain_grad() if False else None
W.grad = None
z = torch.matmul(x, W) + b
y_pred = torch.relu(z)
loss = torch.nn.functional.mse_loss(y_pred, y_true)
z.retain_grad(); y_pred.retain_grad(); loss.retain_grad()
print(f"{z.retains_grad=}, {W.retains_grad=}")
loss.backward()
print(f"{y_true.grad=}, {y_pred.grad=}, {loss.grad=}, {z.grad=}, {W.grad=}, {b.grad=}")
