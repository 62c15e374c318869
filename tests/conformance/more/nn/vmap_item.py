# vmap item
import torch
torch.vmap(lambda x: x * x.item())(torch.tensor([1., -2.]))
