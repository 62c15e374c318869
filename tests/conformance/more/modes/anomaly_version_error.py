import torch
with torch.autograd.set_detect_anomaly(True):
    w = torch.ones(3, requires_grad=True)
    h = w.exp()
    h.add_(1)
    try:
        h.sum().backward()
    except RuntimeError as e:
        print(e)
print(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
