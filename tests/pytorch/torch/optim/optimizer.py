class Optimizer:
    def __init__(self, parameters):
        self.parameters = parameters
