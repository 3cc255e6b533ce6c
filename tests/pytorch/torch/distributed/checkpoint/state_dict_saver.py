from torch.serialization import save as save_one


def save(state_dict, writer):
    save_one(state_dict, writer)
    save_one(state_dict, writer)


def async_save(state_dict, writer):
    save(state_dict, writer)
