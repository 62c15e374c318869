import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.ones(2, device=device)
print(device, repr(device), device.type, device.index, x.device == device, x.to(device) is x, f"{device}")
print(torch.device("cuda:1"), repr(torch.device("cuda", 0)), torch.device("cuda:1").index, torch.device("cpu:0"), torch.device("mps"))
print(x.is_cuda, x.device, torch.cuda.device_count(), torch.nn.Linear(1, 1).to(device).weight.device)
