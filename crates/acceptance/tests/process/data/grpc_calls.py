"""Calls of every kind from a client of grpcio to a server of grpcio, through whatever is between them.

Prints the server's port, reads lines `target [file of the authority]`, and prints for each what failed, or `fine`.
"""

import sys
import threading
from concurrent import futures

import grpc

cancelled = threading.Event()


def unary(request, context):
    context.set_trailing_metadata((("x-trailer", "unary"),))
    if request == b"missing":
        context.abort(grpc.StatusCode.NOT_FOUND, "no such thing")
    return b"re: " + request


def collect(requests, context):
    return b",".join(requests)


def spread(request, context):
    for number in range(int(request)):
        yield b"%d" % number


def talk(requests, context):
    for request in requests:
        yield request.upper()


def linger(request, context):
    context.add_callback(cancelled.set)
    yield b"begun"
    cancelled.wait(20)


SERVER = {
    "Unary": grpc.unary_unary_rpc_method_handler(unary),
    "Collect": grpc.stream_unary_rpc_method_handler(collect),
    "Spread": grpc.unary_stream_rpc_method_handler(spread),
    "Talk": grpc.stream_stream_rpc_method_handler(talk),
    "Linger": grpc.unary_stream_rpc_method_handler(linger),
}


def check(channel):
    def expect(what, found, wanted):
        if found != wanted:
            raise AssertionError(f"{what}: {found!r} is not {wanted!r}")

    answer, call = channel.unary_unary("/t.S/Unary").with_call(b"hello", timeout=20)
    expect("unary", answer, b"re: hello")
    expect("trailer", dict(call.trailing_metadata()).get("x-trailer"), "unary")
    large = b"x" * 3_000_000
    expect("large", channel.unary_unary("/t.S/Unary")(large, timeout=20), b"re: " + large)
    try:
        channel.unary_unary("/t.S/Unary")(b"missing", timeout=20)
        raise AssertionError("an error is no answer")
    except grpc.RpcError as error:
        expect("status", error.code(), grpc.StatusCode.NOT_FOUND)
        expect("details", error.details(), "no such thing")
    numbers = [b"%d" % number for number in range(1_000)]
    collected = channel.stream_unary("/t.S/Collect")(iter(numbers), timeout=20)
    expect("client streaming", collected, b",".join(numbers))
    expect("server streaming", list(channel.unary_stream("/t.S/Spread")(b"1000", timeout=20)), numbers)
    # Each word waits for the answer to the one before: nothing is held back.
    turn, words = threading.Semaphore(1), [b"one", b"two", b"three"]

    def ask():
        for word in words:
            turn.acquire()
            yield word

    heard = []
    for answer in channel.stream_stream("/t.S/Talk")(ask(), timeout=20):
        heard.append(answer)
        turn.release()
    expect("both streaming", heard, [word.upper() for word in words])
    cancelled.clear()
    call = channel.unary_stream("/t.S/Linger")(b"", timeout=20)
    expect("begun", next(call), b"begun")
    call.cancel()
    expect("cancellation", cancelled.wait(10), True)
    cancelled.clear()
    try:
        list(channel.unary_stream("/t.S/Linger")(b"", timeout=0.3))
        raise AssertionError("a deadline that has passed is no answer")
    except grpc.RpcError as error:
        expect("deadline", error.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
    expect("deadline at the server", cancelled.wait(10), True)


def main():
    limits = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    server = grpc.server(futures.ThreadPoolExecutor(8), options=limits)
    handlers = grpc.method_handlers_generic_handler("t.S", SERVER)
    server.add_generic_rpc_handlers((handlers,))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    for line in sys.stdin:
        target, *authority = line.split()
        try:
            if authority:
                with open(authority[0], "rb") as file:
                    credentials = grpc.ssl_channel_credentials(file.read())
                named = [("grpc.ssl_target_name_override", "a.test")]
                channel = grpc.secure_channel(target, credentials, limits + named)
            else:
                channel = grpc.insecure_channel(target, limits)
            with channel:
                check(channel)
            print("fine", flush=True)
        except Exception as error:
            print(repr(error).replace("\n", " "), flush=True)
    server.stop(None)


main()
