# vmap rand
import torch
torch.manual_seed(0)
print(torch.vmap(lambda x: x + torch.rand(2), randomness='same')(torch.zeros(3)))
print(torch.rand(1))
torch.vmap(lambda x: x + torch.rand(2))(torch.zeros(3))
