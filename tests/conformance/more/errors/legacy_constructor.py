import torch
print(torch.Tensor([1, 2]), torch.Tensor(2).shape, torch.Tensor(2, 3).shape, torch.Tensor(), torch.Tensor(torch.Size([2, 1])).shape, torch.LongTensor([1, 2]))
for f in [lambda: torch.Tensor(1.5), lambda: torch.Tensor(None), lambda: torch.Tensor("a"), lambda: torch.Tensor(True), lambda: torch.LongTensor([1.5, 2])]:
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__ + ": " + str(e))
