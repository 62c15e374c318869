# mlp seq
import torch
import torch.nn as nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 1), nn.Sigmoid())
print(model)
for n, p in model.named_parameters():
    print(n, p.shape, p.requires_grad)
print(model.state_dict())
print(model[0].weight)
print(len(model), model.training)
model.eval()
print(model.training, model[2].training)
x = torch.randn(3, 2)
print(model(x))
model.train()
print(model(x))
print(sum(p.numel() for p in model.parameters() if p.requires_grad))
