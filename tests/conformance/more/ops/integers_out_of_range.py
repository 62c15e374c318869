import torch

x = torch.tensor([float("nan"), float("inf"), -float("inf"), 3e9, -1e20, 300.0, -1.5])
for dtype in (torch.int8, torch.int16, torch.int32, torch.int64):
    print(x.to(dtype))
print(torch.tensor([300.0, -1.0, 2.7]).to(torch.uint8), x.bool(), x.int().float())
