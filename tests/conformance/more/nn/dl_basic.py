# dl basic
import torch
from torch.utils.data import TensorDataset, DataLoader
torch.manual_seed(0)
X = torch.arange(10.).reshape(10, 1)
Y = X * 2
ds = TensorDataset(X, Y)
print(len(ds), ds[0], ds[2:4])
dl = DataLoader(ds, batch_size=4, shuffle=True)
print(len(dl))
for epoch in range(2):
    for xb, yb in dl:
        print(xb.flatten().tolist(), yb.flatten().tolist())
for b in DataLoader(ds, batch_size=3):
    print(b)
