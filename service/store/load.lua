-- Everything that one request needs to know of a game, in one round trip.
--
-- KEYS  state, metadata, presence, and the record of a retried request if there may be one
-- Returns the state, the metadata, the seats present, the record (false for what is not there), and the time in ms.

local time = redis.call('TIME')
local now_ms = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
return {
  redis.call('GET', KEYS[1]),
  redis.call('GET', KEYS[2]),
  redis.call('ZRANGEBYSCORE', KEYS[3], now_ms, '+inf'),
  KEYS[4] and redis.call('GET', KEYS[4]) or false,
  now_ms,
}
