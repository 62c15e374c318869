import torch
torch.set_printoptions(precision=0); print(torch.tensor([1.5, 2.5]), torch.tensor([1., 2.]))
torch.set_printoptions(precision=3, sci_mode=None); print(torch.tensor([1.23456, 2.]), torch.tensor(0.00012345))
torch.set_printoptions(edgeitems=1, threshold=3); print(torch.ones(5, 5), torch.ones(2, 2, 2, 2))
torch.set_printoptions(edgeitems=0); print(torch.ones(5))
