"""Expected prompts: import, list, test, take back, and have a person's agent write them."""

from irdaemon.config.addons import AddOn

ADDON = AddOn(
    operations=(
        "irdaemon.contrib.prompts.operations",
        "irdaemon.contrib.prompts.writing_operations",
    ),
    jobs={
        "take_prompts": ("irdaemon.contrib.prompts.observer:take_prompts", 3, True),
        "weigh_prompts": ("irdaemon.contrib.prompts.observer:weigh_prompts", 4, True),
    },
    observer="irdaemon.contrib.prompts.observer:PromptsObserver",
    options="irdaemon.contrib.prompts.writing:make_options",
    background="irdaemon.contrib.prompts.observer:find_writing",
    commands={"init": "irdaemon.contrib.prompts.agents:list_writers"},
)
