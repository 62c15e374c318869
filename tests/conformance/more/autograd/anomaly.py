import torch
x = torch.tensor([-1.], requires_grad=True)
with torch.autograd.detect_anomaly():
    y = torch.sqrt(x)
    try:
        y.sum().backward()
    except RuntimeError as e:
        print(e)
print(torch.is_anomaly_enabled())
with torch.autograd.set_detect_anomaly(True):
    print(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
print(torch.is_anomaly_enabled())
torch.autograd.set_detect_anomaly(True, check_nan=False)
print(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
y = torch.sqrt(x)
y.sum().backward()
print(x.grad)
torch.autograd.set_detect_anomaly(False)
