#!/bin/sh
#
# make-certificates.sh FOLDER [NAME...]: a CA of this machine, and the certificate of the TLS edge.
#
# The CA is made once: clients trust ca.pem, and its key is never mounted anywhere. The edge's
# certificate is for this machine and these names or addresses, or those of the time before. It is
# made anew when they change or when it has less than thirty days left.

set -eu
umask 077
folder=$1
shift
command -v openssl >/dev/null || { echo 'make-certificates.sh: error: openssl is needed' >&2; exit 1; }
cd "$folder"

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

if [ ! -e ca.pem ]; then
    key ca.key
    openssl req -x509 -new -key ca.key -days 3650 -subj '/CN=Commonhold local CA' \
        -addext 'basicConstraints=critical,CA:TRUE,pathlen:0' -addext 'keyUsage=critical,keyCertSign,cRLSign' -out ca.pem
    chmod 644 ca.pem
fi

current=$(cat edge.names 2>/dev/null || true)
names="localhost 127.0.0.1 ::1 edge${*:+ }$*"
[ $# -gt 0 ] || [ -z "$current" ] || names=$current
if [ "$current" = "$names" ] && openssl x509 -checkend 2592000 -noout -in edge.pem >/dev/null; then exit 0; fi

alternatives=
for name in $names; do
    case $name in
        *:* | *[0-9].[0-9]*.[0-9]*.[0-9]*) kind=IP ;;
        *) kind=DNS ;;
    esac
    alternatives="$alternatives${alternatives:+,}$kind:$name"
done
printf '%s\n' "subjectAltName=$alternatives" 'basicConstraints=critical,CA:FALSE' \
    'keyUsage=critical,digitalSignature' 'extendedKeyUsage=serverAuth' >edge.extensions
key edge.key
openssl req -new -key edge.key -subj '/CN=Commonhold edge' -out edge.csr
openssl x509 -req -in edge.csr -CA ca.pem -CAkey ca.key -days 365 -sha256 \
    -set_serial "0x$(openssl rand -hex 16)" -extfile edge.extensions -out edge.crt 2>/dev/null
cat edge.crt edge.key >edge.pem
chmod 644 edge.pem
printf '%s' "$names" >edge.names
rm -f edge.crt edge.csr edge.key edge.extensions
