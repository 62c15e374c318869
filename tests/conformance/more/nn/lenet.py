import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

model = nn.Sequential(
    nn.Conv2d(1, 6, 5, padding=2),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(6, 16, 5),
    nn.Tanh(),
    nn.AdaptiveAvgPool2d(3),
    nn.Flatten(),
    nn.Linear(16 * 3 * 3, 32),
    nn.ReLU(),
    nn.Linear(32, 4),
)
print(model)
print(sum(p.numel() for p in model.parameters()))
for name, p in model.named_parameters():
    print(name, tuple(p.shape), f"{p.sum().item():.3f}")

images = torch.randn(8, 1, 16, 16)
labels = torch.arange(8) % 4
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(6):
    optimizer.zero_grad()
    logits = model(images)
    loss = F.cross_entropy(logits, labels)
    loss.backward()
    optimizer.step()
    print(step, f"loss {loss.item():.3f}", f"|grad| {model[0].weight.grad.norm().item():.3f}")
print(logits.shape, logits.grad_fn)

model.eval()
with torch.no_grad():
    print((model(images).argmax(1) == labels).float().mean())

# the graph, from the loss down
names = []
node = loss.grad_fn
while node is not None:
    names.append(node.name())
    node = next((f for f, _ in node.next_functions if f is not None and f.name() != "torch::autograd::AccumulateGrad" and f.name() != "TBackward0"), None)
print(names)
