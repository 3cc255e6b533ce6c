from .state_dict_saver import async_save, save
