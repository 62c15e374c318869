import torch
torch.autograd.set_detect_anomaly(True)
a = torch.zeros(2, requires_grad=True)
b = (a / a).sum()
b.backward()
