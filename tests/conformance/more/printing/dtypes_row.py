import torch
for dt in [torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int32, torch.uint8, torch.bool]:
    print(torch.tensor([0, 1, 2]).to(dt), torch.tensor(1).to(dt), torch.zeros(0).to(dt), dt.itemsize, dt.is_floating_point)
