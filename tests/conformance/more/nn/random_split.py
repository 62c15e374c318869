# random split
import torch
from torch.utils.data import random_split, TensorDataset
torch.manual_seed(1)
ds = TensorDataset(torch.arange(10))
a, b = random_split(ds, [7, 3])
print(len(a), len(b), a.indices, b.indices)
print(a[0], [int(t[0]) for t in b])
