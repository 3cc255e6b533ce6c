from .modules.loss import MSELoss
from .modules.module import Module
