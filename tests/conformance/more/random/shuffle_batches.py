import torch
torch.manual_seed(5)
X = torch.arange(10.).reshape(5, 2)
perm = torch.randperm(len(X))
print(perm, X[perm][:2])
for i in range(0, 5, 2):
    print(i, X[perm[i:i + 2]].sum().item(), perm[i:i + 2].tolist())
