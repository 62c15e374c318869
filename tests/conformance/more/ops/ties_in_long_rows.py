import torch

print(torch.zeros(5000).topk(5))
print(torch.arange(6000).remainder(7).float().topk(6))
print(torch.arange(6000).remainder(3).topk(4, largest=False))
print(torch.arange(5000).remainder(9).topk(4000)[1][:12])
print(torch.arange(5000).remainder(9).kthvalue(2500))
print(torch.tensor([3.0, 1.0, 3.0, 3.0, 2.0]).topk(3), torch.arange(100).remainder(7).topk(20))
