"""The same in NumPy: what every configuration is compared with. Arrays are in double."""
import numpy as np


def reference(x_ptr, weight_ptr, bias_ptr):
    away = x_ptr - x_ptr.mean(axis=1, keepdims=True)
    return away / np.sqrt((away * away).mean(axis=1, keepdims=True) + 1e-5) * weight_ptr + bias_ptr
