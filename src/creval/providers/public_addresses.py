"""Addresses inside a network, and connections that are made only to public ones, or only to others.

The address that is checked is the one that is connected to: no spelling, no name and no change of a name's address
between the check and the connection leads elsewhere.
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
    """An address that must not be connected to."""


def is_public(address: str) -> bool:
    """Return whether a numeric address belongs to the public internet; what is no such address does not.

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
    """Return whether a host is, by its name or number in any spelling, in this network. Nothing is looked up."""
    host = host.rstrip(".").casefold()
    if host.rpartition(".")[2] in ("localhost", "local", "internal") or not re.search("[.:]", host):
        return True
    try:
        address = host.partition("%")[0] if ":" in host else socket.inet_ntoa(socket.inet_aton(host))
    except OSError:  # a name
        return False
    return not is_public(address)


async def resolve(host: str) -> list[str]:
    """Return the numeric addresses of a host; none if it has none, or cannot be looked up."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(place[0]) for *_, place in found]


async def is_local_host(host: str) -> bool:
    """Return whether all addresses of a host are in this network."""
    addresses = await resolve(host)
    return not any(map(is_public, addresses)) if addresses else is_local_name(host)


def checked_socket(*, public: bool) -> Callable[[tuple[Any, ...]], socket.socket]:
    """Return a factory of sockets to public addresses alone or, if `public` is false, to others alone.

    The factory gets an entry as `socket.getaddrinfo` returns them, whose address the socket is then connected to.
    """

    def create(info: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, place = info
        if is_public(str(place[0])) != public:
            raise ForbiddenAddressError("an address inside this network" if public else "an address outside of it")
        return socket.socket(family, kind, protocol)

    return create
