"""How a process was started, or is run.

KitError
├── ConfigError
│   ├── ConfigUnknownKey
│   ├── ConfigInvalid
│   └── ConfigFileUnreadable
└── AddressUnavailable
"""

from __future__ import annotations

from penstock.core.errors import PenstockError


class KitError(PenstockError):
    """The process cannot run as asked: {reason}."""

    code = "KIT"


class ConfigError(KitError):
    """The configuration is wrong."""

    code = "CONFIG"


class ConfigUnknownKey(ConfigError):
    """{source} sets {key}, which does not exist.

    Did you mean {suggestion}? `penstock config show` lists every key.
    """

    code = "CONFIG_UNKNOWN_KEY"


class ConfigInvalid(ConfigError):
    """{source} sets {key} to a value it cannot have: {reason}.

    `penstock config show` prints every key with its value and where it came from.
    """

    code = "CONFIG_INVALID"


class ConfigFileUnreadable(ConfigError):
    """The configuration file {path} cannot be read: {reason}.

    Check the path given by `--config` or PENSTOCK_CONFIG, and that it is valid TOML.
    """

    code = "CONFIG_FILE_UNREADABLE"


class AddressUnavailable(KitError):
    """Cannot listen on {host}:{port}: {reason}.

    Stop what listens there, or choose another port in the configuration; 0 takes a free one.
    """

    code = "ADDRESS_UNAVAILABLE"
