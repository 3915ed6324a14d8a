"""The network."""

import fcntl
import os
import socket
import struct

from probe import absent, bait, held, probe, through, verdict, write

KIND = "network"


def reaches(address, port):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(3)
        connection.connect((address, port))
        return through(address)


def opens(family, kind, protocol=0):
    with socket.socket(family, kind, protocol):
        return through()


def route_request(kind, body, flags=0x405):
    """Sends a request to the routing part of the kernel; its refusal is an OSError."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as channel:
        channel.send(struct.pack("IHHII", 16 + len(body), kind, flags, 1, 0) + body)
        answer = channel.recv(8192)
        error = struct.unpack_from("i", answer, 16)[0]
        if error != 0:
            raise OSError(-error, os.strerror(-error))
        return through()


@probe(KIND, "services of the host trust who comes over loopback")
def reaches_a_service_on_the_hosts_loopback():
    return reaches("127.0.0.1", int(bait("PORT")))


@probe(KIND, "services of the host trust who comes over loopback")
def reaches_a_service_on_the_hosts_ipv6_loopback():
    return reaches("::1", int(bait("PORT")))


@probe(KIND, "0.0.0.0 is another name of this host")
def reaches_a_service_by_the_unspecified_address():
    return reaches("0.0.0.0", int(bait("PORT")))


@probe(KIND, "an IPv4 address in IPv6 form passes some filters")
def reaches_a_service_by_a_mapped_address():
    return reaches("::ffff:127.0.0.1", int(bait("PORT")))


@probe(KIND, "services of the host listen on its own addresses")
def reaches_the_hosts_own_addresses():
    for address in bait("ADDRESSES").split():
        try:
            return reaches(address, int(bait("PORT")))
        except OSError:
            pass
    return held(bait("ADDRESSES"))


@probe(KIND, "the metadata service of a cloud gives out credentials")
def reaches_the_metadata_service():
    return reaches("169.254.169.254", 80)


@probe(KIND, "data leaves in datagrams")
def sends_a_datagram_out():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        return verdict(channel.sendto(b"x", ("192.0.2.1", 53)))


@probe(KIND, "data leaves in IPv6 datagrams")
def sends_an_ipv6_datagram_out():
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as channel:
        return verdict(channel.sendto(b"x", ("2001:db8::1", 53)))


@probe(KIND, "a name look-up carries data out")
def looks_up_a_name():
    try:
        return through(socket.getaddrinfo("corral-probe.example", 80))
    except socket.gaierror as error:
        return held(error)


@probe(KIND, "broadcasts reach all machines of the network")
def sends_a_broadcast():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        return verdict(channel.sendto(b"x", ("255.255.255.255", 9)))


@probe(KIND, "echo requests carry data out")
def opens_a_socket_for_echo_requests():
    return opens(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)


@probe(KIND, "raw packets pass every check of addresses")
def opens_a_raw_socket():
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            return opens(family, socket.SOCK_RAW, 255)
        except OSError:
            pass
    return held()


@probe(KIND, "packets of others are read")
def opens_a_packet_socket():
    return opens(17, socket.SOCK_RAW, 3)


@probe(KIND, "the hypervisor answers on it")
def opens_a_socket_to_the_hypervisor():
    return opens(40, socket.SOCK_STREAM)


@probe(KIND, "the kernel's cryptography has been a way into it (CVE-2026-31431)")
def opens_a_socket_for_cryptography():
    return opens(38, socket.SOCK_SEQPACKET)


def family_probe(number, name, reason):
    def try_family():
        for kind in (1, 2, 3, 5):
            try:
                return opens(number, kind)
            except OSError:
                pass
        return held()

    try_family.__name__ = f"opens_a_{name}_socket"
    probe(KIND, reason)(try_family)


for _number, _name in ((3, "ax25"), (5, "appletalk"), (9, "x25"), (15, "key"), (21, "rds"), (23, "irda"), (29, "can"),
                       (30, "tipc"), (31, "bluetooth"), (35, "phonet"), (36, "ieee802154"), (39, "nfc"),
                       (41, "kcm"), (42, "qipcrtr"), (43, "smc"), (44, "xdp"), (45, "mctp")):
    family_probe(_number, _name, "the kernel loads its module on request, and few look at that code")


@probe(KIND, "multipath TCP leaves by interfaces that nobody looks at")
def opens_a_multipath_socket():
    return opens(socket.AF_INET, socket.SOCK_STREAM, 262)


@probe(KIND, "the kernel loads its module on request")
def opens_a_socket_of_a_rare_protocol():
    for kind, protocol in ((1, 132), (5, 132), (6, 33), (2, 136), (2, 115), (1, 256)):
        try:
            return opens(socket.AF_INET, kind, protocol)
        except OSError:
            pass
    return held()


@probe(KIND, "netfilter's code has been a way into the kernel many times")
def talks_to_the_packet_filter():
    return opens(16, socket.SOCK_RAW, 12)


@probe(KIND, "transformations have been a way into the kernel")
def talks_to_the_transformations():
    return opens(16, socket.SOCK_RAW, 6)


@probe(KIND, "generic netlink reaches every driver that offers it")
def talks_to_drivers():
    return opens(16, socket.SOCK_RAW, 16)


@probe(KIND, "a new address is another one's")
def adds_an_address():
    body = struct.pack("BBBBI", socket.AF_INET, 32, 0, 0, 1) + struct.pack("HH4s", 8, 2, bytes((192, 0, 2, 7)))
    return route_request(20, body, 0x605)


@probe(KIND, "a new interface loads its driver")
def adds_an_interface():
    kind = struct.pack("HH8s", 10, 1, b"dummy\0")[:12]
    info = struct.pack("HH", 4 + len(kind), 18) + kind
    return route_request(16, struct.pack("BBHiII", 0, 0, 0, 0, 0, 0) + info, 0x605)


@probe(KIND, "a route leads somewhere else")
def adds_a_route():
    body = struct.pack("BBBBBBBBI", socket.AF_INET, 0, 0, 0, 254, 3, 0, 1, 0) + struct.pack("HHI", 8, 4, 1)
    return route_request(24, body, 0x605)


@probe(KIND, "loopback is what other commands of the sandbox need")
def takes_loopback_down():
    return route_request(16, struct.pack("BBHiII", 0, 0, 0, 1, 0, 1))


@probe(KIND, "interfaces of the host show its addresses")
def lists_interfaces_of_the_host():
    names = [name for _, name in socket.if_nameindex() if name != "lo"]
    return verdict(names, names)


@probe(KIND, "a mark chooses rules of the packet filter")
def marks_its_packets():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.setsockopt(socket.SOL_SOCKET, 36, 7)
        return through()


@probe(KIND, "a transparent socket takes addresses of others")
def makes_a_transparent_socket():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as channel:
        channel.setsockopt(socket.SOL_IP, 19, 1)
        return through()


@probe(KIND, "a repaired connection continues that of somebody else")
def repairs_a_connection():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as channel:
        channel.setsockopt(socket.IPPROTO_TCP, 19, 1)
        return through()


@probe(KIND, "socket filters are freed like system call filters")
def filters_a_socket():
    import ctypes

    instructions = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0xFFFF))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HxxxxxxQ", 1, ctypes.addressof(instructions)))
        return through()


@probe(KIND, "forced buffers pass the limits")
def forces_a_large_buffer():
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        channel.setsockopt(socket.SOL_SOCKET, 32, 1 << 26)
        return through()


@probe(KIND, "low ports are those of trusted services")
def takes_a_low_port():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as channel:
        channel.bind(("127.0.0.1", 80))
        # Harmless in a network of its own.
        return verdict(os.stat("/proc/self/ns/net").st_ino == int(bait("NETWORK")))


@probe(KIND, "abstract names are not files: only a network of its own hides them")
def connects_to_an_abstract_socket_of_the_host():
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        channel.connect("\0" + bait("ABSTRACT"))
        return through()


@probe(KIND, "the engine's socket is root of the host")
def finds_a_socket_of_a_service():
    for place in ("/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket",
                  "/run/corral/corrald.sock", "/run/systemd/private", "/tmp/.X11-unix/X0", "/run/udev/control"):
        if os.path.exists(place):
            return through(place)
    return held()


@probe(KIND, "a tunnel device makes packets of its own")
def opens_a_tunnel():
    file = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(file, 0x400454CA, struct.pack("16sH22x", b"corral0", 1))
    return through()


@probe(KIND, "settings of the network")
def changes_a_setting_of_the_network():
    for name in ("ipv4/ip_forward", "ipv4/ping_group_range", "ipv4/ip_unprivileged_port_start", "core/somaxconn"):
        try:
            write("/proc/sys/net/" + name, b"1")
            return through(name)
        except OSError:
            pass
    return held()


@probe(KIND, "connections of the host show who talks to whom")
def lists_connections_of_the_host():
    port = f":{int(bait('PORT')):04X} "
    for name in ("tcp", "tcp6"):
        try:
            with open("/proc/net/" + name, encoding="ascii") as table:
                if port in table.read():
                    return through(name)
        except FileNotFoundError:
            return absent("no /proc/net")
    return held()
