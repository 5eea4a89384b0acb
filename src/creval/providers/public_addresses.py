"""Detection of addresses in the local network, and sockets that only connect to public or only to local addresses.

The check applies to the numeric address of the connection itself. It cannot be bypassed by an unusual
spelling of an address, by a host name, or by changing a host name's address between check and connection.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Callable
from typing import Any

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # an IPv4 address is in the last 32 bits


class ForbiddenAddressError(OSError):
    """A connection to a forbidden address."""


def is_public(address: str) -> bool:
    """Return True if a numeric address belongs to the public internet. Returns False for any other text.

    >>> [is_public(each) for each in ("1.1.1.1", "10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "0x7f.1")]
    [True, False, False, False, False]
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return _is_public(found)


def _is_public(address: IPAddress) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return _is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        inner = address.ipv4_mapped or address.sixtofour
        if address.is_site_local or (inner is not None and not _is_public(inner)):
            return False
    return address.is_global and not (address.is_reserved or address.is_multicast or address.is_unspecified)


def is_local_name(host: str) -> bool:
    """Return True if a host is in the local network by its name or numeric address, without name resolution."""
    host = host.rstrip(".").casefold()
    if host.rpartition(".")[2] in ("localhost", "local", "internal") or not re.search("[.:]", host):
        return True
    try:
        address = host.partition("%")[0] if ":" in host else socket.inet_ntoa(socket.inet_aton(host))
    except OSError:  # a name
        return False
    return not is_public(address)


async def resolve(host: str) -> list[str]:
    """Return the numeric addresses of a host. The list is empty if it cannot be resolved."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(address[0]) for *_, address in found]


async def is_local_host(host: str) -> bool:
    """Return True if all addresses of a host are in the local network."""
    addresses = await resolve(host)
    return not any(map(is_public, addresses)) if addresses else is_local_name(host)


def checked_socket(*, public: bool) -> Callable[[tuple[Any, ...]], socket.socket]:
    """Return a socket factory that only allows public addresses or, if `public` is false, only local ones.

    The factory takes an entry of `socket.getaddrinfo`, and raises `ForbiddenAddressError` if its address is not
    allowed.
    """

    def create(info: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, address = info
        if is_public(str(address[0])) != public:
            raise ForbiddenAddressError("an address in the local network" if public else "a public address")
        return socket.socket(family, kind, protocol)

    return create
