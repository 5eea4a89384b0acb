"""Proxies from environment variables."""

from __future__ import annotations

from urllib.request import getproxies, proxy_bypass

from yarl import URL

from creval.providers.call_errors import ProviderUnusable


def find_proxy(address: URL) -> URL | None:
    """Return the proxy for an address according to the environment (HTTPS_PROXY, NO_PROXY ...), or None."""
    host = address.host or ""
    if proxy_bypass(host) or host in ("localhost", "127.0.0.1", "::1"):
        return None
    named = getproxies().get(address.scheme)
    if not named:
        return None
    try:
        proxy = URL(named if "://" in named else f"http://{named}")
        usable = proxy.scheme in ("http", "https") and bool(proxy.host) and proxy.port is not None
    except ValueError:
        usable = False
    if not usable:
        variable = f"{address.scheme.upper()}_PROXY"
        raise ProviderUnusable(f"the environment variable {variable} is not a valid proxy. Give http://HOST:PORT.")
    return proxy


def proxy_secrets() -> set[str]:
    """Return the user info (`USER:PASSWORD`) of each proxy in the environment, and each password alone."""
    found = set[str]()
    for proxy in getproxies().values():
        user_info = proxy.partition("://")[2].rpartition("@")[0] or proxy.rpartition("@")[0]
        found |= {user_info, user_info.partition(":")[2]}
    return found - {""}
