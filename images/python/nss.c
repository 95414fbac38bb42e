// Answers every look-up of a host with "Network is unreachable", as the kernel
// of a box answers connections. Without a name server, glibc's answer would be
// "Temporary failure in name resolution". Names in /etc/hosts come before.

#include <errno.h>
#include <netdb.h>
#include <nss.h>
#include <stddef.h>
#include <stdint.h>

static enum nss_status unreachable(int *error, int *host_error) {
    *error = ENETUNREACH;
    *host_error = NETDB_INTERNAL;
    return NSS_STATUS_UNAVAIL;
}

// For addresses of any family.
enum nss_status _nss_sandpiper_gethostbyname4_r(
    const char *name, struct gaih_addrtuple **addresses, char *buffer,
    size_t length, int *error, int *host_error, int32_t *ttl) {
    (void)name, (void)addresses, (void)buffer, (void)length, (void)ttl;
    return unreachable(error, host_error);
}

// For addresses of one family.
enum nss_status _nss_sandpiper_gethostbyname2_r(
    const char *name, int family, struct hostent *host, char *buffer,
    size_t length, int *error, int *host_error) {
    (void)name, (void)family, (void)host, (void)buffer, (void)length;
    return unreachable(error, host_error);
}
