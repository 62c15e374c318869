import torch
import torch.nn.functional as F

z = torch.tensor([-0.0, 0.0])
print(z.relu(), F.relu6(z), z.clamp(min=0), z.clamp(0, 1), z.clamp_min(0.0), torch.clamp(torch.tensor([0.0]), max=-0.0))
print(torch.maximum(z, z.flip(0)), torch.minimum(z, z.flip(0)))
print(torch.tensor([-4.0, -2.0, 4.0]) % 2, torch.remainder(torch.tensor([-4.0, 4.0, -0.0]), -2.0), torch.fmod(torch.tensor([-4.0]), 2))
print(torch.tensor([-3.0, 3.0]) % 2, torch.tensor([5.5, -5.5]) % torch.tensor([2.0, 2.0]), -4 % 2)
