import torch
int("x")
