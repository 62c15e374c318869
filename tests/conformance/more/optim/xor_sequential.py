import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
print(model)
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
print(optimizer)
criterion = nn.MSELoss()
X = torch.tensor([[0., 0.], [0., 1.], [1., 0.], [1., 1.]])
Y = torch.tensor([[0.], [1.], [1.], [0.]])
for epoch in range(3):
    optimizer.zero_grad()
    output = model(X)
    loss = criterion(output, Y)
    loss.backward()
    optimizer.step()
    print(f'epoch {epoch}: {loss.item():.6f}')
for name, param in model.named_parameters():
    print(name, param.size(), param.requires_grad, param.grad is not None)
print(sum(p.numel() for p in model.parameters() if p.requires_grad))
print(list(model.state_dict().keys()))
model.eval()
print(model.training)
with torch.no_grad():
    print((model(X) > 0.5).int().squeeze().tolist())
