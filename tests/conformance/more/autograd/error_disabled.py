import torch
with torch.autograd.graph.disable_saved_tensors_hooks("custom message"):
    with torch.autograd.graph.save_on_cpu(pin_memory=False):
        pass
