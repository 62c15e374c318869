import torch
[1, 2, 3].index(5)
