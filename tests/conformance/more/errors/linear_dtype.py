import torch
lin = torch.nn.Linear(2, 3)
for x in [torch.ones(2).int(), torch.ones(1, 2).double(), torch.ones(3), torch.ones(2, 1, 3), torch.tensor(1.)]:
    try:
        print(lin(x).shape)
    except RuntimeError as e:
        print(e)
